"""What handlers get."""

import dataclasses

import kopf

# [views]

@kopf.on.create('kopfexamples')
def views(spec, labels, annotations, logger, **_):
    volumes = spec.get('volumes') or [{}]
    if 'paused' in spec and labels.get('tier') != 'test':
        logger.info(f"paused size={volumes[0].get('size', 0)}")
    for name, value in annotations.items():
        logger.debug(f"annotation name={name} value={value}")

# [/views]

# [decode]

@dataclasses.dataclass
class VolumeSpec:
    size: int
    zones: list[str] = dataclasses.field(default_factory=list)

@kopf.on.update('kopfexamples')
def typed(spec, logger, **_):
    try:
        volume = VolumeSpec(**spec)
    except TypeError as err:
        raise kopf.PermanentError(f"spec: {err}")  # a missing field, or an unknown one
    logger.info(f"{volume.size} GB in {len(volume.zones)} zones")

# [/decode]

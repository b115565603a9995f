"""How handlers select resources."""

import kopf

# [names]

@kopf.on.event('kopfexamples')  # by the plural name, the kind,
@kopf.on.event('KopfExample')  # the singular name, or a short name
@kopf.on.event('kopfexamples.kopf.dev')  # with the group
@kopf.on.event('kopfexamples.v1.kopf.dev')  # with the version and the group
def named(**_):
    pass

# [/names]

# [parts]

@kopf.on.event('kopf.dev', 'v1', 'kopfexamples')
@kopf.on.event('kopf.dev/v1', 'kopfexamples')
@kopf.on.event('kopf.dev', 'kopfexamples')
@kopf.on.event('', 'v1', 'pods')  # the core API
@kopf.on.event('v1', 'pods')  # the same
def in_parts(**_):
    pass

# [/parts]

# [selector]

@kopf.on.event(group='kopf.dev', kind='KopfExample')
@kopf.on.event(category='all')
def selected(**_):
    pass

# [/selector]

# [everything]

@kopf.on.event(kopf.EVERYTHING)
@kopf.on.event('kopf.dev', kopf.EVERYTHING)
def seen(**_):
    pass

# [/everything]

# [function]

@kopf.on.event(lambda resource: resource.namespaced is True and resource.group == 'kopf.dev')
def ours(**_):
    pass

# [/function]

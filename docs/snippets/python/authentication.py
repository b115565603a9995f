"""Login handlers."""

import datetime

import kopf

# [own]

@kopf.on.login(retries=3)
def login(**kwargs):
    return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)

# [/own]

# [data]

@kopf.on.login()
def token(**_):
    return kopf.ConnectionInfo(
        token=kopf.config('token'),
        priority=5,
        expiration=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1),
    )

# [/data]

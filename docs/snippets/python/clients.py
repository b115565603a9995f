# Client libraries, which only a compiler of the tests reads: they are packages.

# [clients]

import kopf
import kubernetes
import requests

@kopf.on.create('kopfexamples')
def create_fn(namespace, **_):
    kubernetes.config.load_incluster_config()
    claims = kubernetes.client.CoreV1Api().list_namespaced_persistent_volume_claim(namespace)
    requests.post('https://api.example.com/v1/claims', json={'count': len(claims.items)}, timeout=5)

# [/clients]

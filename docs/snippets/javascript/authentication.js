// Login handlers.

// [own]

kopf.on.login({ retries: 3 }, function login({ logins }) {
  const found = ["service_account", "kubeconfig"].find((name) => logins.includes(name));
  return found ? { login: found } : undefined;
});

// [/own]

// [data]

kopf.on.login(function token() {
  return {
    token: kopf.config("token"),
    priority: 5,
    expiration: new Date(Date.now() + 3_600_000).toISOString(),
  };
});

// [/data]

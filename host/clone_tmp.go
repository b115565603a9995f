package host

const cloning = false

package linear

const sysMemfdCreate = 319

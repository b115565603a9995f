package linear

const sysMemfdCreate = 279

package stores

// Blake2b4 is for the test of the hash alone.
var Blake2b4 = blake2b4

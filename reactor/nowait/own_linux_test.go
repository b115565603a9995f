package nowait_test

const hasOwnCalls = true

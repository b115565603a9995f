package abi

// Levels of lines of the log, and of events: those of Python. A level in between counts as the next higher one.
const (
	LevelDebug    = 10
	LevelInfo     = 20
	LevelWarning  = 30
	LevelError    = 40
	LevelCritical = 50
)

package kopf

// option is what all types of options have in common: each is a setter. The methods of the
// interfaces are never called, so modules do not have them.
type option interface {
	isOption()
}

// Option is an option of handlers of all kinds: ID, Identity, Param.
//
// Options are functions, named as the options of Kopf's decorators, for two reasons. A
// registration reads as a sentence. And an absent option differs from a zero one: no limit of
// retries is not a limit of zero, no filter by a value is not a filter by null.
//
//	kopf.OnCreate("kopfexamples", createFn,
//		kopf.Retries(3), kopf.Timeout(time.Minute), kopf.Label("app", kopf.Present))
//
// The type of an option says which kinds of handlers have it. An option that does not fit does
// not compile: Interval is a TimerOption, and OnCreate takes each CreateOption. To share options
// between handlers, use Join.
//
// A program that chooses options when it runs can assert any of them to be an Option, which
// compiles for all kinds. The host refuses an option that does not fit, and names the handler.
//
// See https://docs.kopf.dev/en/latest/handlers/
type Option interface {
	AttemptOption
	FilterOption
}

// AttemptOption is an option of handlers that are retried: of all kinds but those of events,
// reviews and conversions.
//
// See https://docs.kopf.dev/en/latest/errors/
type AttemptOption interface {
	option
	forCreate()
	forUpdate()
	forDelete()
	forResume()
	forTimer()
	forDaemon()
	forIndex()
	forActivity()
}

// FilterOption is an option that chooses objects: for handlers of all kinds but activities and
// conversions.
//
// See https://docs.kopf.dev/en/latest/filters/
type FilterOption interface {
	option
	forCreate()
	forUpdate()
	forDelete()
	forResume()
	forTimer()
	forDaemon()
	forIndex()
	forEvent()
	forReview()
}

// CreateOption is an option of OnCreate.
type CreateOption interface {
	option
	forCreate()
}

// UpdateOption is an option of handlers that compare: of OnUpdate and OnField, and of
// sub-handlers.
type UpdateOption interface {
	option
	forUpdate()
}

// DeleteOption is an option of OnDelete.
type DeleteOption interface {
	option
	forDelete()
}

// ResumeOption is an option of OnResume.
type ResumeOption interface {
	option
	forResume()
}

// EventOption is an option of OnEvent.
type EventOption interface {
	option
	forEvent()
}

// TimerOption is an option of OnTimer.
//
// See https://docs.kopf.dev/en/latest/timers/
type TimerOption interface {
	option
	forTimer()
}

// DaemonOption is an option of OnDaemon.
//
// See https://docs.kopf.dev/en/latest/daemons/
type DaemonOption interface {
	option
	forDaemon()
}

// DelayOption is an option of OnTimer and OnDaemon.
type DelayOption interface {
	TimerOption
	DaemonOption
}

// IndexOption is an option of OnIndex.
type IndexOption interface {
	option
	forIndex()
}

// ReviewOption is an option of OnValidate and OnMutate.
//
// See https://docs.kopf.dev/en/latest/admission/
type ReviewOption interface {
	option
	forReview()
}

// ActivityOption is an option of handlers that belong to no object: of OnStartup, OnCleanup,
// OnLogin, OnProbe and OnBackground.
type ActivityOption interface {
	option
	forActivity()
}

// setter is every option. The interfaces that the functions return hide where it does not fit:
// one type is smaller in modules than one for each set of kinds.
type setter func(d *declaration)

func (setter) isOption()    {}
func (setter) forCreate()   {}
func (setter) forUpdate()   {}
func (setter) forDelete()   {}
func (setter) forResume()   {}
func (setter) forEvent()    {}
func (setter) forTimer()    {}
func (setter) forDaemon()   {}
func (setter) forIndex()    {}
func (setter) forReview()   {}
func (setter) forActivity() {}

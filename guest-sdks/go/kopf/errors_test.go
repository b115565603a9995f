package kopf

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/kopf-wasm/kopf/abi"
)

func TestMeaningOfErrors(t *testing.T) {
	boo := errors.New("boo")
	_, decodeErr := Decode[int](JSON([]byte(`"x"`)))
	tests := []struct {
		name string
		err  error
		want abi.Error
	}{
		{"temporary", Temporary("later"), abi.Error{Kind: "temporary", Message: "later"}},
		{"with a delay", Temporary("later", Delay(1500*time.Millisecond)), abi.Error{Kind: "temporary", Message: "later", Delay: abi.DelayOf(1.5)}},
		{"without any delay", Temporary("", AtOnce()), abi.Error{Kind: "temporary", Delay: abi.Delay{Said: true, None: true}}},
		{"zero delay", Temporary("", Delay(0)), abi.Error{Kind: "temporary", Delay: abi.DelayOf(0)}},
		{"literal", TemporaryError{Message: "later", Delay: Delay(time.Second)}, abi.Error{Kind: "temporary", Message: "later", Delay: abi.DelayOf(1)}},
		{"with a cause", TemporaryFrom(boo, "later"), abi.Error{Kind: "temporary", Message: "later: boo"}},
		{"only a cause", &TemporaryError{Err: boo}, abi.Error{Kind: "temporary", Message: "boo"}},
		{"permanent", Permanent("never"), abi.Error{Kind: "permanent", Message: "never"}},
		{"permanent literal", PermanentError{Message: "never", Err: boo}, abi.Error{Kind: "permanent", Message: "never: boo"}},
		{"wrapped", fmt.Errorf("a: %w", fmt.Errorf("b: %w", Permanent("never"))), abi.Error{Kind: "permanent", Message: "a: b: never"}},
		{"joined", errors.Join(boo, Temporary("later")), abi.Error{Kind: "temporary", Message: "boo\nlater"}},
		{"the outer one counts", PermanentFrom(Temporary("later"), "never"), abi.Error{Kind: "permanent", Message: "never: later"}},
		{"the outer one counts, too", TemporaryFrom(Permanent("never"), "later"), abi.Error{Kind: "temporary", Message: "later: never"}},
		{"admission", &AdmissionError{Message: "no", Code: 418}, abi.Error{Kind: "admission", Message: "no", Code: 418}},
		{"admission literal", AdmissionError{Message: "no"}, abi.Error{Kind: "admission", Message: "no"}},
		{"children", fmt.Errorf("so: %w", ErrChildrenPending), abi.Error{Kind: "children", Message: "so: sub-handlers are not finished yet"}},
		{"decoding", decodeErr, abi.Error{Kind: "permanent", Message: "value: want an integer, got a string"}},
		{"arbitrary", io.EOF, abi.Error{Kind: "arbitrary", Message: "EOF"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := wireError(tt.err)
			tt.want.Type = fmt.Sprintf("%T", tt.err)
			if *got != tt.want {
				t.Errorf("got  %+v\nwant %+v", *got, tt.want)
			}
		})
	}
	if got := wireError(nil); got != nil {
		t.Errorf("no error became %+v", got)
	}
}

func TestErrorsAreFoundByTheirTypes(t *testing.T) {
	err := fmt.Errorf("a: %w", TemporaryFrom(io.EOF, "later"))
	var temporary *TemporaryError
	if !errors.As(err, &temporary) || !errors.Is(err, io.EOF) {
		t.Error("the chain is broken")
	}
	err = fmt.Errorf("a: %w", PermanentFrom(io.EOF, "never"))
	var permanent *PermanentError
	if !errors.As(err, &permanent) || !errors.Is(err, io.EOF) {
		t.Error("the chain is broken")
	}
}

// TestErrorsAreFoundBothWays asks for values and for pointers, whichever was returned.
func TestErrorsAreFoundBothWays(t *testing.T) {
	tests := []struct {
		name string
		err  error
	}{
		{"temporary value", TemporaryError{Message: "x"}},
		{"temporary pointer", Temporary("x")},
		{"permanent value", PermanentError{Message: "x"}},
		{"permanent pointer", Permanent("x")},
		{"admission value", AdmissionError{Message: "x"}},
		{"admission pointer", Denied("x")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := fmt.Errorf("wrapped: %w", tt.err)
			var (
				temporary  TemporaryError
				permanent  PermanentError
				admission  AdmissionError
				temporaryP *TemporaryError
				permanentP *PermanentError
				admissionP *AdmissionError
			)
			values := errors.As(err, &temporary) && temporary.Message == "x" ||
				errors.As(err, &permanent) && permanent.Message == "x" || errors.As(err, &admission) && admission.Message == "x"
			pointers := errors.As(err, &temporaryP) && temporaryP.Message == "x" ||
				errors.As(err, &permanentP) && permanentP.Message == "x" || errors.As(err, &admissionP) && admissionP.Message == "x"
			if !values || !pointers {
				t.Errorf("found as a value: %v, as a pointer: %v", values, pointers)
			}
		})
	}
}

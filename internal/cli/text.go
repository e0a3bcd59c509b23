package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mosaicstack.dev/mosaic/internal/wire"
)

// What people and programs type is taken as it is or refused, never repaired:
// their words become evidence. Invalid UTF-8 and NUL, which JSON cannot carry,
// are refused with the name of the argument (DESIGN.md 3).

// checkText refuses text that could only be sent repaired.
func checkText(field, text string) error {
	switch {
	case !utf8.ValidString(text):
		return explained(wire.RefuseField(wire.InvalidRequest, field), "it holds bytes that are no UTF-8")
	case strings.ContainsRune(text, 0):
		return explained(wire.RefuseField(wire.InvalidRequest, field), "it holds a NUL character")
	}
	return nil
}

// checkArgument checks a positional argument. An empty one is a variable that
// was not set; only the words of another program's command line may be empty.
func checkArgument(name, value string, mayBeEmpty bool, cmd *cobra.Command) error {
	if value == "" && !mayBeEmpty {
		return usage("%s is empty: %s", name, cmd.UseLine())
	}
	return checkText(name, value)
}

// checkFlags does the same for the flags that were given. A note may be empty:
// it is then no note.
func checkFlags(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			switch {
			case err != nil:
			case v == "" && f.Name != "note":
				err = usage("--%s is empty: %s", f.Name, cmd.UseLine())
			default:
				err = checkText("--"+f.Name, v)
			}
		}
	})
	return err
}

// checkArguments checks every text of a request before it is sent, wherever it
// came from: the command line, stdin, the environment or the file system.
func checkArguments(args any) error {
	if args == nil {
		return nil
	}
	return checkValue("args", reflect.ValueOf(args))
}

func checkValue(field string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		return checkText(field, v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkValue(field, v.Elem())
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if err := checkValue(key.String(), v.MapIndex(key)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if raw, ok := v.Interface().(json.RawMessage); ok {
			return checkText(field, string(raw))
		}
		for i := range v.Len() {
			if err := checkValue(field, v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if err := checkValue(name, v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// echoed is how many columns of what was typed an error repeats.
const echoed = 60

// echo is what was typed, as an error repeats it: enough to recognize it.
func echo(typed string) string { return cut(typed, echoed) }

// patience is a flag that says how long to wait.
type patience time.Duration

func (p *patience) String() string { return time.Duration(*p).String() }
func (p *patience) Type() string   { return "duration" }

// Set takes a duration that is not negative: there is no waiting backwards.
func (p *patience) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	if d < 0 {
		return errNegative
	}
	*p = patience(d)
	return nil
}

// errNegative is never printed: flagError says what the flag takes.
var errNegative = usage("negative")

// waiting declares a flag for a duration.
func waiting(cmd *cobra.Command, name string, standard time.Duration, text string) *time.Duration {
	d := standard
	cmd.Flags().Var((*patience)(&d), name, text)
	return &d
}

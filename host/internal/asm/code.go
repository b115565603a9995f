package asm

// Instructions without immediates, and beginnings of blocks without a type.
var (
	Unreachable = []byte{0x00}
	Block       = []byte{0x02, 0x40}
	Loop        = []byte{0x03, 0x40}
	If          = []byte{0x04, 0x40}
	Else        = []byte{0x05}
	End         = []byte{0x0b}
	Return      = []byte{0x0f}
	Drop        = []byte{0x1a}
	I32Add      = []byte{0x6a}
	I32Sub      = []byte{0x6b}
	I32Mul      = []byte{0x6c}
	I32And      = []byte{0x71}
	I32Eqz      = []byte{0x45}
	MemorySize  = []byte{0x3f, 0}
	MemoryGrow  = []byte{0x40, 0}
	MemoryFill  = []byte{0xfc, 11, 0}
	MemoryCopy  = []byte{0xfc, 10, 0, 0}
)

// I32Const is i32.const.
func I32Const(v int32) []byte { return Cat([]byte{0x41}, S64(int64(v))) }

// I64Const is i64.const.
func I64Const(v int64) []byte { return Cat([]byte{0x42}, S64(v)) }

// Br is br to a label.
func Br(label uint32) []byte { return Cat([]byte{0x0c}, U32(label)) }

// BrIf is br_if to a label.
func BrIf(label uint32) []byte { return Cat([]byte{0x0d}, U32(label)) }

// Call is call.
func Call(fn uint32) []byte { return Cat([]byte{0x10}, U32(fn)) }

// CallIndirect is call_indirect in the table 0.
func CallIndirect(typ uint32) []byte { return Cat([]byte{0x11}, U32(typ), []byte{0}) }

// Get is local.get.
func Get(local uint32) []byte { return Cat([]byte{0x20}, U32(local)) }

// Set is local.set.
func Set(local uint32) []byte { return Cat([]byte{0x21}, U32(local)) }

// Tee is local.tee.
func Tee(local uint32) []byte { return Cat([]byte{0x22}, U32(local)) }

// GlobalGet is global.get.
func GlobalGet(global uint32) []byte { return Cat([]byte{0x23}, U32(global)) }

// GlobalSet is global.set.
func GlobalSet(global uint32) []byte { return Cat([]byte{0x24}, U32(global)) }

// I32Load is i32.load without an offset.
func I32Load() []byte { return []byte{0x28, 2, 0} }

// I32Store is i32.store without an offset.
func I32Store() []byte { return []byte{0x36, 2, 0} }

// I64Store is i64.store without an offset.
func I64Store() []byte { return []byte{0x37, 3, 0} }

// Bulk is an instruction behind the prefix 0xfc with its immediates.
func Bulk(sub uint32, immediates ...byte) []byte { return Cat([]byte{0xfc}, U32(sub), immediates) }

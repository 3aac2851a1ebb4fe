package machinecode

// InstructionSet is the name of an instruction set as in the manuals; "" for instructions that
// every processor of the architecture has.
type InstructionSet string

// Function is a function of a program.
type Function struct {
	Name     string // with its package
	Assembly bool   // written in assembly; the compiler uses only the sets that GOAMD64 allows
	Code     []byte // includes the padding before the next function
}

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// call is a statement to be put into a function, before all statements of it or of one of its loops.
type call struct {
	receiver, function string // a method's type without its star; empty for a function
	first              string // the first statement of the loop; empty for the function itself
	statement          string
}

func atHead(receiver, function, statement string) call {
	return call{receiver: receiver, function: function, statement: statement}
}

func inLoop(receiver, function, first, statement string) call {
	return call{receiver: receiver, function: function, first: first, statement: statement}
}

// hooked is a source file with the calls in it. It is an error if one of them has no place, or more than one.
func hooked(name string, src []byte, calls []call) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	type insertion struct {
		at   int
		text string
	}
	var all []insertion
	for _, c := range calls {
		places := c.places(fset, file, src)
		if len(places) != 1 {
			return nil, fmt.Errorf("%w: %d places in %s for %q in %s", errMoved, len(places), name, c.statement, c.function)
		}
		all = append(all, insertion{places[0], "\n" + c.statement + "\n"})
	}
	slices.SortFunc(all, func(a, b insertion) int { return cmp.Compare(b.at, a.at) })
	out := slices.Clone(src)
	for _, i := range all { // from the end, so that the others stay where they are
		out = slices.Insert(out, i.at, []byte(i.text)...)
	}
	return out, nil
}

// places are the offsets behind the opening braces that a call fits.
func (c call) places(fset *token.FileSet, file *ast.File, src []byte) []int {
	var all []int
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.Name != c.function || receiver(f) != c.receiver || f.Body == nil {
			continue
		}
		if c.first == "" {
			all = append(all, offset(f.Body.Lbrace)+1)
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			loop, ok := n.(*ast.ForStmt)
			if ok && len(loop.Body.List) > 0 {
				first := loop.Body.List[0]
				if string(src[offset(first.Pos()):offset(first.End())]) == c.first {
					all = append(all, offset(loop.Body.Lbrace)+1)
				}
			}
			return true
		})
	}
	return all
}

// receiver is the name of a method's type; empty for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		return ""
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}
	return "?"
}

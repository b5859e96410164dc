//go:build !bell

package main

import "understudy/core/tool"

// moreTools are the tools of the program beside the built-in ones: none.
func moreTools() []tool.Tool { return nil }

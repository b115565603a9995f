package licences_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-wasm/kopf/scripts/release/licences"
)

const (
	mit = "Permission is hereby granted,\n free of charge, to any person obtaining a copy of this"
	bsd = "Redistribution and use in source and binary forms ... Neither the name of X nor the names of its contributors may be used"
)

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLicencesOfPackagesCount: those of the linked packages and of the folders above them, and no others.
func TestLicencesOfPackagesCount(t *testing.T) {
	module := t.TempDir()
	write(t, module, "LICENSE", mit)
	write(t, module, "NOTICE", "made by me")
	write(t, module+"/forked/inner", "LICENSE.txt", bsd)
	write(t, module+"/unused", "COPYING", "GNU General Public License")
	found, err := licences.Go([]licences.Package{
		{Folder: module, Module: "example.com/m", Version: "v1.0.0", ModuleAt: module},
		{Folder: module + "/forked/inner", Module: "example.com/m", Version: "v1.0.0", ModuleAt: module},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || strings.Join(found[0].IDs, " ") != "BSD-3-Clause MIT" || len(found[0].Texts) != 3 {
		t.Errorf("found %+v", found)
	}
	notices := string(licences.Notices("Notices", append(found, licences.Component{Name: "other", Version: "1", Texts: []string{mit}})))
	if strings.Count(notices, "free of charge") != 1 || !strings.Contains(notices, "\nother 1\nexample.com/m v1.0.0\n\nPermission") || !strings.Contains(notices, "made by me") {
		t.Errorf("the notices are:\n%s", notices)
	}
}

func TestUnknownLicencesAreRefused(t *testing.T) {
	for name, text := range map[string]string{"none": "", "proprietary": "All rights reserved.", "copyleft": "GNU GENERAL PUBLIC LICENSE Version 3"} {
		module := t.TempDir()
		if text != "" {
			write(t, module, "LICENSE", text)
		}
		_, err := licences.Go([]licences.Package{{Folder: module, Module: "example.com/" + name, Version: "v1.0.0", ModuleAt: module}})
		if !errors.Is(err, licences.ErrUnknown) || !strings.Contains(err.Error(), "example.com/"+name+" v1.0.0") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestCratesThatBuildOthersAreNotLinked(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/linked", "LICENSE-MIT", mit)
	found, err := licences.Crates([]byte(`{"packages": [
		{"id": "root", "name": "root", "version": "1.0.0", "manifest_path": "` + dir + `/top/Cargo.toml"},
		{"id": "a", "name": "linked", "version": "1.0.0", "license": "MIT", "source": "registry", "manifest_path": "` + dir + `/linked/Cargo.toml"},
		{"id": "b", "name": "builds", "version": "1.0.0", "license": "MIT", "source": "registry", "manifest_path": "` + dir + `/builds/Cargo.toml"}],
		"resolve": {"root": "root", "nodes": [
		{"id": "root", "deps": [{"pkg": "a", "dep_kinds": [{"kind": null}]}]},
		{"id": "a", "deps": [{"pkg": "b", "dep_kinds": [{"kind": "build"}]}]}]}}`))
	if err != nil || len(found) != 1 || found[0].Name != "linked" || found[0].IDs[0] != "MIT" || len(found[0].Texts) != 1 {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestNoticesOfPythonAreSplit(t *testing.T) {
	found, err := licences.Python("======== CPython (python3.11 3.11.2-6), and more\n\nfirst\n\n======== zlib (zlib 1.2.13)\nsecond\n======== libc\nthird\n")
	if err != nil || len(found) != 3 || found[2].Name != "libc" || found[0].Name != "python3.11" || found[1].Version != "1.2.13" || found[1].Texts[0] != "second" {
		t.Errorf("found %+v, %v", found, err)
	}
	if _, err := licences.Python("nothing"); !errors.Is(err, licences.ErrUnknown) {
		t.Errorf("the error is %v", err)
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package contract holds proto/csi.proto to the official CSI v1.12.0 descriptor: every name,
// number, type, label, json name and option, in the same order. Only comments may differ.
package contract

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// maxPrinted bounds the differences printed: the first few name the mistake.
const maxPrinted = 20

func official() *descriptorpb.FileDescriptorProto {
	return protodesc.ToFileDescriptorProto(csi.File_csi_proto)
}

// ours compiles the file named by HOLDFAST_CSI_PROTO, or the repository's proto/csi.proto.
func ours(t *testing.T) *descriptorpb.FileDescriptorProto {
	t.Helper()
	source := os.Getenv("HOLDFAST_CSI_PROTO")
	if source == "" {
		source = filepath.Join("..", "..", "proto", "csi.proto")
	}
	out := filepath.Join(t.TempDir(), "csi.binpb")
	compile := exec.Command("protoc", "-I", filepath.Dir(source), "--descriptor_set_out="+out, source)
	if text, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s(Debian: apt-get install protobuf-compiler libprotobuf-dev)",
			compile, err, text)
	}
	bytes, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	// The official module registers the csi_secret and alpha_* extensions: both sides hold them
	// decoded.
	if err := proto.Unmarshal(bytes, set); err != nil {
		t.Fatal(err)
	}
	if len(set.File) != 1 {
		t.Fatalf("protoc wrote %d files, want 1", len(set.File))
	}
	return set.File[0]
}

// facts flattens a descriptor into "path: value" entries. Named elements are keyed by name, so
// that one inserted field shows as one difference.
func facts(path string, message protoreflect.Message, into map[string]string) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		at := path + "." + field.TextName()
		switch {
		case field.IsList() && field.Message() != nil:
			for i := range value.List().Len() {
				element := value.List().Get(i).Message()
				facts(fmt.Sprintf("%s[%s]", at, elementKey(element, i)), element, into)
			}
		case field.IsList():
			for i := range value.List().Len() {
				into[fmt.Sprintf("%s[%d]", at, i)] = value.List().Get(i).String()
			}
		case field.Message() != nil:
			into[at] = "present" // an empty options block is a fact too
			facts(at, value.Message(), into)
		case field.Enum() != nil:
			into[at] = string(field.Enum().Values().ByNumber(value.Enum()).Name())
		default:
			into[at] = value.String()
		}
		return true
	})
	if unknown := message.GetUnknown(); len(unknown) > 0 {
		into[path+".<unknown fields>"] = fmt.Sprintf("%x", unknown)
	}
}

func elementKey(element protoreflect.Message, index int) string {
	if name := element.Descriptor().Fields().ByName("name"); name != nil && !name.IsList() {
		return element.Get(name).String()
	}
	return fmt.Sprint(index)
}

// differences compares two descriptors without their comments.
func differences(want, got *descriptorpb.FileDescriptorProto) []string {
	want, got = proto.CloneOf(want), proto.CloneOf(got)
	want.SourceCodeInfo, got.SourceCodeInfo = nil, nil
	wantFacts, gotFacts := map[string]string{}, map[string]string{}
	facts("csi.proto", want.ProtoReflect(), wantFacts)
	facts("csi.proto", got.ProtoReflect(), gotFacts)

	var found []string
	for path, value := range wantFacts {
		if other, present := gotFacts[path]; !present {
			found = append(found, fmt.Sprintf("%s: missing, official %q", path, value))
		} else if other != value {
			found = append(found, fmt.Sprintf("%s: %q, official %q", path, other, value))
		}
	}
	for path, value := range gotFacts {
		if _, present := wantFacts[path]; !present {
			found = append(found, fmt.Sprintf("%s: %q, official has none", path, value))
		}
	}
	if len(found) == 0 && !proto.Equal(want, got) {
		found = append(found, "csi.proto: the same elements in another order")
	}
	slices.Sort(found)
	return found
}

func TestDescriptorEqualsOfficial(t *testing.T) {
	found := differences(official(), ours(t))
	for i, difference := range found {
		if i == maxPrinted {
			t.Errorf("and %d more", len(found)-maxPrinted)
			break
		}
		t.Error(difference)
	}
}

// The comparison itself must see every kind of deviation.
func TestDeviationsAreSeen(t *testing.T) {
	const request = "csi.proto.message_type[CreateVolumeRequest]."
	deviations := map[string]struct {
		change func(*descriptorpb.FileDescriptorProto)
		want   string
	}{
		"number": {
			func(f *descriptorpb.FileDescriptorProto) { field(f, "name").Number = proto.Int32(9) },
			request + `field[name].number: "9", official "1"`,
		},
		"type": {
			func(f *descriptorpb.FileDescriptorProto) {
				field(f, "name").Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
			},
			request + `field[name].type: "TYPE_BYTES", official "TYPE_STRING"`,
		},
		"option": {
			func(f *descriptorpb.FileDescriptorProto) { proto.Reset(field(f, "secrets").Options) },
			request + `field[secrets].options.[csi.v1.csi_secret]: missing, official "true"`,
		},
		"empty options": {
			func(f *descriptorpb.FileDescriptorProto) { f.Service[0].Method[0].Options = nil },
			`csi.proto.service[Identity].method[GetPluginInfo].options: missing, official "present"`,
		},
		"extra": {
			func(f *descriptorpb.FileDescriptorProto) {
				extra := &descriptorpb.DescriptorProto{Name: proto.String("Extra")}
				f.MessageType = append(f.MessageType, extra)
			},
			`csi.proto.message_type[Extra].name: "Extra", official has none`,
		},
		"order": {
			func(f *descriptorpb.FileDescriptorProto) { slices.Reverse(f.Service) },
			"csi.proto: the same elements in another order",
		},
	}
	for name, deviation := range deviations {
		t.Run(name, func(t *testing.T) {
			changed := official()
			deviation.change(changed)
			if found := differences(official(), changed); !slices.Equal(found, []string{deviation.want}) {
				t.Errorf("found %q, want only %q", found, deviation.want)
			}
		})
	}
	if found := differences(official(), official()); len(found) > 0 {
		t.Errorf("the official descriptor differs from itself: %q", found)
	}
}

// field returns the named field of CreateVolumeRequest.
func field(file *descriptorpb.FileDescriptorProto, name string) *descriptorpb.FieldDescriptorProto {
	for _, message := range file.MessageType {
		if message.GetName() != "CreateVolumeRequest" {
			continue
		}
		for _, candidate := range message.Field {
			if candidate.GetName() == name {
				return candidate
			}
		}
	}
	panic("CreateVolumeRequest has no field " + name)
}

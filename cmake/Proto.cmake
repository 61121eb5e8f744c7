# C++ from the .proto files, generated into the build tree and compiled once, quietly.
set(proto_out ${CMAKE_BINARY_DIR}/generated/proto)
file(MAKE_DIRECTORY ${proto_out})
set(proto_sources "")
foreach(name csi link admin pluginregistration)
  set(outputs ${proto_out}/${name}.pb.cc ${proto_out}/${name}.pb.h ${proto_out}/${name}.grpc.pb.cc
              ${proto_out}/${name}.grpc.pb.h)
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR}/proto --cpp_out=${proto_out}
            --grpc_out=${proto_out} --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>
            ${CMAKE_SOURCE_DIR}/proto/${name}.proto
    DEPENDS ${CMAKE_SOURCE_DIR}/proto/${name}.proto
    COMMENT "protoc ${name}.proto"
    VERBATIM)
  list(APPEND proto_sources ${proto_out}/${name}.pb.cc ${proto_out}/${name}.grpc.pb.cc)
endforeach()
add_library(holdfast_proto STATIC ${proto_sources})
target_include_directories(holdfast_proto SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/generated)
target_include_directories(holdfast_proto SYSTEM PRIVATE ${proto_out})
target_compile_options(holdfast_proto PRIVATE -w -O1)
set_target_properties(holdfast_proto PROPERTIES UNITY_BUILD OFF)  # their names are not unique
target_link_libraries(holdfast_proto PUBLIC grpc_static)

// RUN: weft-opt %s -split-input-file -verify-diagnostics

// Kernels write through pointers; they have no results.
// expected-error @+1 {{[kernel_c1] a kernel returns nothing, found 'i32'}}
tile.kernel @result() -> i32 attributes {block = array<i64: 32, 1, 1>, index_bits = 32 : i64, nodes = ""} {
  tile.return
}

// -----

// The runtime passes addresses of global memory, and numbers.
// expected-error @+1 {{[kernel_c2] parameter 0 has type 'f32', expected !llvm.ptr<1>, i32, i64 or f64}}
tile.kernel @parameter(%x: f32) attributes {block = array<i64: 32, 1, 1>, index_bits = 32 : i64, nodes = ""} {
  tile.return
}

// -----

// expected-error @+1 {{[kernel_c3] parameter 1 is a pointer behind a scalar}}
tile.kernel @order(%n: i32, %x: !llvm.ptr<1>) attributes {block = array<i64: 32, 1, 1>, index_bits = 32 : i64, nodes = ""} {
  tile.return
}

// -----

// No GPU takes more than 1024 threads in a block.
// expected-error @+1 {{[kernel_c4] block is array<i64: 512, 4, 1>, expected three sizes with 1 to 1024 threads in all}}
tile.kernel @block() attributes {block = array<i64: 512, 4, 1>, index_bits = 32 : i64, nodes = ""} {
  tile.return
}

// -----

// expected-error @+1 {{[kernel_c5] index_bits is 16, expected 32 or 64}}
tile.kernel @bits() attributes {block = array<i64: 32, 1, 1>, index_bits = 16 : i64, nodes = ""} {
  tile.return
}

// -----

tile.kernel @narrow(%x: !llvm.ptr<1>, %i: i32) attributes {block = array<i64: 32, 1, 1>, index_bits = 32 : i64, nodes = ""} {
  // expected-error @+1 {{[access_c1] element type 'i4' does not fill bytes}}
  %v = tile.load %x[%i] : <1>, i32 -> i4
  tile.return
}

// -----

// An f32 that stands at a multiple of 2 could not be loaded at once.
tile.kernel @alignment(%x: !llvm.ptr<1>, %i: i32) attributes {block = array<i64: 32, 1, 1>, index_bits = 32 : i64, nodes = ""} {
  // expected-error @+1 {{[access_c2] alignment 2 is no power of two that an element of type 'f32' allows}}
  %v = tile.load %x[%i] {alignment = 2} : <1>, i32 -> f32
  tile.return
}

// -----

// Static shared memory ends at 48 KiB on every GPU.
tile.kernel @large() attributes {block = array<i64: 32, 1, 1>, index_bits = 32 : i64, nodes = ""} {
  // expected-error @+1 {{[shared_c2] 20000 elements of 4 bytes, expected 1 to 12288}}
  %v = tile.shared 20000 x f32
  tile.return
}

// -----

tile.kernel @wide(%v: i64) attributes {block = array<i64: 32, 1, 1>, index_bits = 32 : i64, nodes = ""} {
  %a = tile.thread_id x
  %w = arith.extsi %v : i64 to i128
  // expected-error @+1 {{[shuffle_c1] values of 128 bits, expected at most 64}}
  %s = tile.shuffle idx %w, %a : i128
  tile.return
}

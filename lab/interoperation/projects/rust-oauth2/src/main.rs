// The snippet of the page takes the place of this file.
fn main() {}

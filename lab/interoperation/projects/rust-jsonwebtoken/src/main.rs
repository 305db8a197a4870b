//! Verifies each line of standard input with the snippet of the page. The argument is the key set.
#![allow(dead_code)]
mod access_token;

use std::io::BufRead;

fn main() {
    let keys = std::env::args().nth(1).expect("a key set");
    let keys = serde_json::from_str(&keys).expect("a key set");
    for line in std::io::stdin().lock().lines() {
        match access_token::verify(&line.expect("a line"), &keys) {
            Ok(claims) => println!("accepted {}", claims.sub),
            Err(error) => println!("refused {error:?}"),
        }
    }
}

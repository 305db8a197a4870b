/**
 * The same text in its own memory. A part of a text keeps the whole text, and that of a request has the secret; a text
 * made of parts, as an id is, keeps them all. So what is kept for longer than the request is a copy. It must have no
 * half of a surrogate pair.
 */
export function copyOf<Text extends string | undefined>(text: Text): Text {
  return (text === undefined ? undefined : Buffer.from(text).toString()) as Text;
}

/** A change of state of a key set that is fetched; not each failure, of which there may be one every few seconds. */
export type KeySetLine =
  | { readonly event: 'key_set_unavailable'; readonly fault: unknown }
  | { readonly event: 'key_set_available'; readonly keys: number };

/** Where changes of state are written. Must not throw. */
export type KeySetLog = (line: KeySetLine) => void;

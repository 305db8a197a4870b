import { decoyPicker } from '../../adapters/secrets/decoy-picker.ts';

/** With the same picks in every run. */
export const pickDecoy = decoyPicker(new Uint8Array(32));

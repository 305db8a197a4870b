/** Signatures a second, of all processes together, from the table that `openssl speed rsa2048` ends with. Throws where there is none. */
export function parseOpensslSpeed(output: string): number {
  const perSecond = /^rsa +2048 bits(?:\s+[\d.]+s)+\s+([\d.]+)/m.exec(output)?.[1];
  if (perSecond === undefined) throw new Error(`openssl speed tells no signatures a second: ${output}`);
  return Number(perSecond);
}

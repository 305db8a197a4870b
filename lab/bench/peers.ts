import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('./peers/', import.meta.url));
const PACKAGES = fileURLToPath(new URL('../package.json', import.meta.url));

/**
 * The path of a program in lab/bench/peers. These run as processes of their own, so their packages are never imported
 * here.
 */
export function peerFile(name: string): string {
  return `${FOLDER}${name}`;
}

/** The exact version of a package that only the laboratory uses. */
export async function peerVersion(name: string): Promise<string> {
  return JSON.parse(await readFile(PACKAGES, 'utf8')).dependencies[name];
}

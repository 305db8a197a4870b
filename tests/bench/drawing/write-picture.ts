import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { say } from '../report.ts';

const FOLDER = fileURLToPath(new URL('../../../docs/images/', import.meta.url));

/** Writes a picture of the documentation. @param name of a file in docs/images. */
export async function writePicture(name: string, svg: string): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(`${FOLDER}${name}`, svg);
  say(`docs/images/${name} was drawn again.`);
}

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The version of this project, from its package.json, above the sources and above the compiled files. */
export function programVersion(): string {
  return manifest().version;
}

/** What is wrong with the Node.js that runs this process: it is older than package.json asks for. */
export function nodeProblem(): string | undefined {
  const { node } = process.versions;
  const needed = manifest().engines.node.replace('>=', '');
  const isOld = node.localeCompare(needed, 'en', { numeric: true }) < 0;
  return isOld ? `This program needs Node.js ${needed} or newer; this is Node.js ${node}.` : undefined;
}

function manifest(): { readonly version: string; readonly engines: { readonly node: string } } {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) folder = dirname(folder);
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The program of the archive. What npm installs from a package cannot have a flag of Node.js: BusyBox has no `env -S`.
 */
export const PROGRAM = `#!/bin/sh
# docs/operate.md, "Memory", has the flag.
exec node --max-semi-space-size=8 "$(dirname "$(readlink -f "$0")")/dist/config/program.js" "$@"
`;

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Runs a program, and returns what it prints on standard output. */
function output(program: string, args: readonly string[], cwd: string): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Packs what `npm publish` would publish into this folder, and returns the file and the name of its version. */
export function packPackage(folder: string): { readonly file: string; readonly version: string } {
  const [packed] = JSON.parse(output('npm', ['pack', '--json', '--silent', `--pack-destination=${folder}`], ROOT));
  return { file: join(folder, packed.filename), version: packed.version };
}

/**
 * Writes an archive of the package with the production packages of package-lock.json into this folder, and returns its
 * path. It needs Node.js and no npm: `ccauth-VERSION/ccauth` is the program.
 */
export function writeArchive(folder: string): string {
  const work = mkdtempSync(join(tmpdir(), 'archive-'));
  try {
    const { file, version } = packPackage(work);
    const name = `ccauth-${version}`;
    const content = join(work, name);
    output('mkdir', [content], work);
    output('tar', ['-xzf', file, '-C', content, '--strip-components=1'], work);
    copyFileSync(join(ROOT, 'package-lock.json'), join(content, 'package-lock.json'));
    // bcrypt brings its compiled files for each platform: no script of a package has to run.
    output('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], content);
    writeFileSync(join(content, 'ccauth'), PROGRAM, { mode: 0o755 });
    const archive = join(folder, `${name}.tar.gz`);
    output('tar', ['-czf', archive, '-C', work, name], work);
    return archive;
  } finally {
    rmSync(work, { recursive: true });
  }
}

if (import.meta.main) process.stdout.write(`${writeArchive(process.argv[2] ?? process.cwd())}\n`);

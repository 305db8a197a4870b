import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Finding, fine, note, problem } from '../../domain/finding.ts';
import { CONNECTIONS_MIN, MEMORY_BYTES, memoryLimit } from './host-limits.ts';
import { connectionsWithin, type OpenFilesPlan } from './open-files.ts';
import { othersMay } from './read-text-file.ts';

const MB = 1_000_000;

/** Below this an audit file soon cannot be written, in bytes. */
const DISK_MIN_BYTES = 500 * MB;

/** Whether the memory of this machine, or of the container, is enough. */
export function inspectMemory(limit = memoryLimit()): readonly Finding[] {
  const text = `the service may need ${inMb(MEMORY_BYTES)}, and this machine or container has ${inMb(limit)}`;
  return [MEMORY_BYTES > limit ? note(text, `give it at least ${inMb(MEMORY_BYTES)}`) : fine(text)];
}

/** Whether a process may open as many files as it needs for `connections` at once. */
export function inspectOpenFiles(plan: OpenFilesPlan, connections: number): readonly Finding[] {
  const within = connectionsWithin(plan);
  if (within >= connections) return [fine(`the service may have ${connections} connections`)];
  const beside = plan.limit - within;
  const fix = `raise the limit to ${beside + connections}: ulimit -n, LimitNOFILE of systemd, --ulimit nofile of docker`;
  if (within >= CONNECTIONS_MIN)
    return [note(`the service may have ${within} connections instead of ${connections}`, fix)];
  const least = beside + CONNECTIONS_MIN;
  return [problem(`the limit of open files (ulimit -n) is ${plan.limit}: must be at least ${least}`, fix)];
}

/**
 * Whether only its owner can read a file with a key; `harm` is what others could do with it. A file that cannot be read
 * is a problem of the settings.
 */
export function inspectKeyFile(
  path: string,
  harm: string,
  readers: 'read' | 'readOutsideGroup' = 'read',
): readonly Finding[] {
  const whole = resolve(path);
  const fix = readers === 'read' ? `chmod 600 ${whole}` : `chmod o-r ${whole}, or defaultMode 0440 of the Secret`;
  if (othersMay(readers, path)) return [note(`other users can read ${whole}, and with it ${harm}`, fix)];
  const whose = readers === 'read' ? 'only its owner' : 'only its owner and its group';
  return [fine(`${whole} is usable, and ${whose} can read it`)];
}

/** The same for a file that seals keys. The group may read it: Kubernetes gives files to that of a container. */
export function inspectKeySecretFile(path: string): readonly Finding[] {
  return inspectKeyFile(path, 'open the keys of a dump', 'readOutsideGroup');
}

/** Whether lines can be added to the file of this setting, or the file can be made; and whether its disk has space. */
export function inspectWritableFile(setting: string, path: string): readonly Finding[] {
  const whole = resolve(path);
  const cannot = (code: string | undefined, fix: string) => [
    problem(`${setting}: ${whole} cannot be written (${code})`, fix),
  ];
  const [target, what] = existsSync(whole) ? [whole, 'the file'] : [dirname(whole), 'the folder'];
  try {
    accessSync(target, constants.W_OK | (target === whole ? 0 : constants.X_OK));
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    if (target !== whole && existsSync(target) && !statSync(target).isDirectory())
      return cannot('ENOTDIR', `name a file in a folder, which ${target} is not`);
    const fix =
      code === 'ENOENT'
        ? `mkdir -p ${target}, and give it to the user of the service`
        : `let the user of the service, uid ${process.getuid?.() ?? 'unknown'}, write to ${what} ${target}`;
    return cannot(code, fix);
  }
  const found = statSync(target);
  if (target === whole && found.isDirectory()) return cannot('EISDIR', 'name a file in it');
  if (target === whole && !found.isFile()) return [note(`${whole} is no regular file`, 'name a regular file')];
  const { bavail, bsize } = statfsSync(target);
  const free = bavail * bsize;
  const text = `${whole} can be written, and its disk has ${inMb(free)} left`;
  return [free < DISK_MIN_BYTES ? note(text, 'free space, or rotate the file') : fine(text)];
}

function inMb(bytes: number): string {
  return `${Math.round(bytes / MB).toLocaleString('en')} MB`;
}

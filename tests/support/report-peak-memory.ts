import { existsSync, readFileSync } from 'node:fs';

// Not `resourceUsage().maxRSS`, which begins with that of the parent process.
const STATUS = '/proc/self/status';
process.on('exit', () => {
  if (existsSync(STATUS)) process.stderr.write(`${/^VmHWM.*$/m.exec(readFileSync(STATUS, 'utf8'))?.[0]}\n`);
});

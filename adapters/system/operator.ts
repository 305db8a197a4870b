import { hostname, userInfo } from 'node:os';

/** Who runs this program: the user of the operating system and the name of the machine. */
interface Operator {
  readonly os_user: string;
  readonly host: string;
}

/** A user without a name in the system has its number, such as `uid 10001`. */
export function currentOperator(): Operator {
  return { os_user: userName(), host: hostname() };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

import './thread-pool-size.ts';
import { manageKeys } from './capabilities/keys-program.ts';

/** `npm run keys`: shows and revokes the keys of the shared key directory. */
process.exitCode = await manageKeys(process.argv.slice(2), process, process.env);

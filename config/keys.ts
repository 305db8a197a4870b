import './thread-pool-size.ts';
import { manageKeys } from './programs/keys-program.ts';

/** `npm run keys`: shows, rotates and revokes the keys of the shared key ring. */
process.exitCode = await manageKeys(process.argv.slice(2), process, process.env);

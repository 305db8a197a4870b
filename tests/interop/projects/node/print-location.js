import { accessToken } from './client-oauth2.js';

const [url] = process.argv.slice(2);
const answer = await fetch(url, { headers: { authorization: `Bearer ${await accessToken()}` } });
process.stdout.write(await answer.text());

import axios from 'axios';
import { clientCredentials } from 'axios-oauth-client';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, API_URL } = process.env;

const getToken = clientCredentials(axios.create(), `${ISSUER}/oauth2/token`, CLIENT_ID, CLIENT_SECRET);

const accessToken = async () => (await getToken('')).access_token;

const response = await fetch(API_URL, { headers: { Authorization: `Bearer ${await accessToken()}` } });
console.log(await response.text());

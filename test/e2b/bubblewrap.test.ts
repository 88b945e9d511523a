import { e2bSdk } from '../contracts/e2b-sdk.ts';

e2bSdk('bubblewrap', { javascript: true, home: true });

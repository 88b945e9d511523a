import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import { openHarness } from '../contracts/harness.ts';
import { runtimeContract } from '../contracts/runtime.ts';

runtimeContract({ name: 'native', open: () => openHarness(nativeRuntime) });

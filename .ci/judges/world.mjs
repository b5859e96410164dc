// The world that a judge plays in: one process with the fakes in it, steered
// through its control address, and a list of steps that ends with the first
// difference.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const patience = 10_000; // ms for anything that must happen

// open starts the fakes. FAKES is the path of the program understudy-fakes.
export async function open() {
  const dir = mkdtempSync(join(tmpdir(), 'judge-'));
  const child = spawn(process.env.FAKES, ['-dir', dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  process.on('exit', () => {
    child.kill();
    rmSync(dir, { recursive: true, force: true });
  });
  const line = await within('the fakes', new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`understudy-fakes ended with ${code}`)));
  }));
  const at = JSON.parse(line);
  return {
    ...at,
    post: (path, body) => order(at.control + path, { method: 'POST', body: JSON.stringify(body) }),
    get: (path) => order(at.control + path),
  };
}

async function order(url, init) {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`the order ${url} ${init?.body ?? ''} is refused: ${text.trim()}`);
  return JSON.parse(text);
}

// within waits for a promise, but not for ever. A step that failed for another
// reason meanwhile does not ask for it any more, which is no error of its own.
export function within(what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), patience);
  });
  const first = Promise.race([promise, late]).finally(() => clearTimeout(timer));
  first.catch(() => {});
  return first;
}

// until asks again until the answer is truthy, and returns it.
export async function until(what, ask) {
  const end = Date.now() + patience;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// heard is the next event of an emitter that passes the test. Ask for it before
// doing what makes it happen.
export function heard(emitter, event, test = () => true) {
  return within(event, new Promise((resolve) => {
    const listen = (...args) => {
      if (!test(...args)) return;
      emitter.off(event, listen);
      resolve(args[0]);
    };
    emitter.on(event, listen);
  }));
}

// refused is the error of what must fail.
export async function refused(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('that should have been refused');
}

// play runs the steps in order; the first one that fails ends the process with
// 1. With KEEP_GOING set the others are tried all the same, which helps while
// a fake is being built.
export async function play(judge, steps) {
  let failed = 0;
  for (const [name, step] of Object.entries(steps)) {
    try {
      await within(`the end of “${name}”`, step());
      console.log(`${judge}: ok: ${name}`);
    } catch (error) {
      failed++;
      console.error(`${judge}: ${name}: ${process.env.KEEP_GOING ? error.message : error.stack}`);
      if (!process.env.KEEP_GOING) process.exit(1);
    }
  }
  console.log(`${judge}: ${Object.keys(steps).length} steps, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

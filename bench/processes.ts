/** Starts the compared servers as separate processes on loopback, each with a temporary folder. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, constants, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '../test/support/free-port.ts'

export const run = promisify(execFile)

export interface Peer extends AsyncDisposable {
  url: string
  pid: number
}

/** Finds a program on PATH. Resolves with null if it is missing. */
export async function findProgram(name: string): Promise<string | null> {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
  for (const path of folders.map(folder => join(folder, name))) {
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return null
}

/** Creates a temporary folder, on tmpfs if possible, because the write-back of a disk adds noise. */
export async function temporaryFolder(): Promise<AsyncDisposable & { path: string }> {
  const parent = await access('/dev/shm', constants.W_OK).then(
    () => '/dev/shm',
    () => tmpdir(),
  )
  const path = await mkdtemp(join(parent, 'stowage-bench-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Starts a server and resolves when it responds at `path`. */
async function startPeer(
  command: string,
  args: string[],
  { port, path = '/', environment = {} }: { port: number; path?: string; environment?: Record<string, string> },
): Promise<Peer> {
  const child = spawn(command, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...environment },
  })
  const url = `http://127.0.0.1:${port}`
  await answering(url + path, child)
  return {
    url,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
    },
  }
}

/** Accepts any response except 503, which means that the server is not ready. */
async function answering(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 6000; attempt++) {
    if (child.exitCode !== null) throw new Error(`${url} exited with status ${child.exitCode}`)
    const status = await fetch(url).then(
      async response => {
        await response.body?.cancel()
        return response.status
      },
      () => 503,
    )
    if (status !== 503) return
    await sleep(5)
  }
  child.kill('SIGKILL')
  throw new Error(`${url} does not respond`)
}

function script(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}

/** Starts the bare Node server, which serves the folder and accepts PUT. */
export async function startBare(folder: string): Promise<Peer> {
  const port = await freePort()
  return startPeer(process.execPath, [script('bare-server.ts'), String(port), folder], { port })
}

/** Starts the built server, which `npm start` runs, with its data in `<folder>/data`. */
export async function startStowage(folder: string, settings: Readonly<Record<string, string>> = {}): Promise<Peer> {
  const port = await freePort()
  const environment = {
    ...settings,
    PORT: String(port),
    STOWAGE_DATA: join(folder, 'data'),
    LOG_LEVEL: 'warn',
    // Requests are counted as usual but never limited.
    STOWAGE_RATE_LIMIT: '1000000000',
  }
  return startPeer(process.execPath, [script('../dist/src/main.js')], { port, path: '/readyz', environment })
}

/** Starts rclone, which serves the folder and accepts PUT. @param folder may be that of a remote which `environment` describes */
export async function startRclone(
  program: string,
  folder: string,
  environment: Record<string, string> = {},
): Promise<Peer> {
  const port = await freePort()
  const args = ['serve', 'webdav', folder, '--addr', `127.0.0.1:${port}`, '--config', '', '--log-level', 'ERROR']
  return startPeer(program, args, { port, environment })
}

/** Starts nginx, which serves the folder and accepts PUT. It has one worker process, like the other servers. */
export async function startNginx(program: string, root: string): Promise<Peer> {
  const port = await freePort()
  await mkdir(join(root, 'tmp'), { recursive: true })
  const configuration = `
    daemon off; master_process off; pid ${root}/tmp/pid; error_log stderr crit; ${process.getuid?.() === 0 ? 'user root;' : ''}
    events {}
    http {
      access_log off; sendfile on; client_max_body_size 0; default_type application/octet-stream;
      client_body_temp_path ${root}/tmp/body; proxy_temp_path ${root}/tmp/p; fastcgi_temp_path ${root}/tmp/f;
      uwsgi_temp_path ${root}/tmp/u; scgi_temp_path ${root}/tmp/s;
      server { listen 127.0.0.1:${port}; root ${root}; dav_methods PUT; create_full_put_path on; }
    }`
  await writeFile(join(root, 'tmp', 'nginx.conf'), configuration)
  return startPeer(program, ['-c', join(root, 'tmp', 'nginx.conf'), '-p', root], { port })
}

/** A real nginx in front of a server. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import { untilParentEnds } from '../support/until-parent-ends.ts'
import { requirePrograms } from './programs.ts'

/**
 * Resolves with the address of an nginx that passes requests to `url`.
 * @param more lines of its configuration
 * @param port the port that it listens on; the default is any free port
 */
export async function startNginx(t: Test, url: string, more = '', port?: number): Promise<string> {
  const listening = port ?? (await freePort())
  const address = `http://127.0.0.1:${listening}`
  const configuration = `events {}
    http {
      access_log off; default_type text/x-from-nginx;
      server {
        listen 127.0.0.1:${listening};
        location / { proxy_pass ${url}; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; }
        ${more}
      }
    }`
  await startConfigured(t, configuration, address)
  return address
}

/** Starts an nginx with a whole configuration, and resolves when it serves the health check at `address`. */
export async function startConfigured(t: Test, configuration: string, address: string): Promise<void> {
  await requirePrograms({
    who: 'The tests of proxies',
    programs: ['nginx'],
    packages: ['nginx-light'],
    instead: 'put nginx on PATH',
  })
  const home = await mkdtemp(join(tmpdir(), 'stowage-nginx-'))
  t.teardown(() => rm(home, { recursive: true, force: true }))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = temporary.map(name => `${name}_temp_path ${home}/${name};`).join(' ')
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  await writeFile(join(home, 'nginx.conf'), configuration.replace('http {', `http { ${paths}`))
  const global = `daemon off; master_process off; pid ${home}/pid; error_log ${home}/error.log; ${user}`
  const args = ['-c', join(home, 'nginx.conf'), '-p', home, '-e', join(home, 'error.log'), '-g', global]
  const nginx = spawn(...untilParentEnds('nginx', args), { stdio: 'ignore' })
  t.teardown(async () => {
    const gone = once(nginx, 'exit')
    nginx.kill('SIGTERM')
    await gone
  })
  await until(() => {
    assert.equal(nginx.exitCode, null, 'nginx has exited')
    return fetch(`${address}/healthz`).then(
      response => response.ok,
      () => false,
    )
  })
}

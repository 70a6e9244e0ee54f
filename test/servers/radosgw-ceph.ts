/** The smallest Ceph that serves S3: one monitor, one store in memory and one gateway, on loopback and without logs. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { untilParentEnds } from '../support/until-parent-ends.ts'
import type { S3Account } from './radosgw.ts'

const run = promisify(execFile)
const POLL_MS = 20
const START_MS = 60_000

export async function startCeph(folder: string): Promise<{ account: S3Account; stop: () => Promise<void> }> {
  const daemons: ChildProcess[] = []
  const stop = async () => {
    // A graceful stop would take over ten seconds, and everything is in memory.
    const closed = daemons.map(daemon => (daemon.exitCode === null ? once(daemon, 'exit') : undefined))
    for (const daemon of daemons) daemon.kill('SIGKILL')
    await Promise.all(closed)
  }
  try {
    return { account: await startAll(folder, daemons), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startAll(folder: string, daemons: ChildProcess[]): Promise<S3Account> {
  const [monitorPort, gatewayPort] = await freePorts()
  const fsid = randomUUID()
  const osd = randomUUID()
  const conf = join(folder, 'ceph.conf')
  const keyring = join(folder, 'keyring')
  const call = (program: string, ...args: string[]) => run(program, ['--conf', conf, ...args])
  const daemon = (program: string, ...args: string[]) => {
    const child = spawn(...untilParentEnds(program, ['--conf', conf, '--foreground', ...args]), {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    child.once('error', error => process.stderr.write(`${error}\n`))
    daemons.push(child)
    return child
  }

  await Promise.all(['mon', 'osd'].map(name => mkdir(join(folder, name))))
  await writeFile(conf, configuration({ folder, fsid, monitorPort, gatewayPort }))
  const all = ['--cap', 'mon', 'allow *', '--cap', 'osd', 'allow *', '--cap', 'mgr', 'allow *']
  await run('ceph-authtool', ['--create-keyring', keyring, '--gen-key', '-n', 'mon.', '--cap', 'mon', 'allow *'])
  for (const name of ['client.admin', 'client.rgw.a', 'osd.0']) {
    await run('ceph-authtool', [keyring, '--gen-key', '-n', name, ...all])
  }
  const monmap = join(folder, 'monmap')
  await run('monmaptool', ['--create', '--addv', 'a', `[v2:127.0.0.1:${monitorPort}]`, '--fsid', fsid, monmap])
  await call('ceph-mon', '--mkfs', '-i', 'a', '--monmap', monmap, '--keyring', keyring)
  daemon('ceph-mon', '-i', 'a')
  await call('ceph', '--keyring', keyring, 'osd', 'new', osd)
  await call('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', osd)
  daemon('ceph-osd', '-i', '0')
  const gateway = daemon('radosgw', '-n', 'client.rgw.a')
  const [accessKeyId, secretAccessKey] = ['STOWAGETESTKEY', randomUUID()]
  const user = ['--uid=test', '--display-name=test', `--access-key=${accessKeyId}`, `--secret=${secretAccessKey}`]
  await call('radosgw-admin', '--keyring', keyring, 'user', 'create', ...user)
  await answers(gatewayPort, gateway)
  return { endpoint: `http://127.0.0.1:${gatewayPort}`, accessKeyId, secretAccessKey, region: 'us-east-1' }
}

interface Places {
  folder: string
  fsid: string
  monitorPort: number
  gatewayPort: number
}

/**
 * Short intervals make the first start take one second instead of twelve. With auth "none" the gateway would hang. Without the
 * limits of the background work, an idle Ceph takes 5 % of a processor instead of 1 %.
 */
function configuration({ folder, fsid, monitorPort, gatewayPort }: Places): string {
  return `[global]
fsid = ${fsid}
mon host = v2:127.0.0.1:${monitorPort}
mon initial members = a
public network = 127.0.0.0/8
cluster network = 127.0.0.0/8
ms bind ipv6 = false
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = ${folder}/keyring
run dir = ${folder}
admin socket =
pid file =
log file =
log to stderr = true
err to stderr = true
mon cluster log file =
mon data = ${folder}/mon
osd data = ${folder}/osd
rgw data = ${folder}
mon tick interval = 1
paxos propose interval = 0.01
paxos min wait = 0.01
mon allow pool size one = true
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd heartbeat interval = 1
osd objectstore = memstore
memstore device bytes = 8589934592
rgw frontends = beast endpoint=127.0.0.1:${gatewayPort} tcp_nodelay=1
rgw thread pool size = 64
rgw multipart min part size = 5242880
rgw override bucket index max shards = 1
rgw gc obj min wait = 1
rgw gc processor period = 1
rgw gc processor max time = 1
rgw gc max objs = 1
rgw objexp gc interval = 3600
rgw enable lc threads = false
rgw enable quota threads = false
rgw dynamic resharding = false
`
}

async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()] as const
  const ports = await Promise.all(
    servers.map(async server => {
      await once(server.listen(0, '127.0.0.1'), 'listening')
      return (server.address() as AddressInfo).port
    }),
  )
  await Promise.all(servers.map(server => once(server.close(), 'close')))
  const [first = 0, second = 0] = ports
  return [first, second]
}

async function answers(port: number, gateway: ChildProcess): Promise<void> {
  for (const end = performance.now() + START_MS; performance.now() < end; await sleep(POLL_MS)) {
    if (gateway.exitCode !== null) throw new Error(`radosgw ended at once with status ${gateway.exitCode}.`)
    const socket = connect(port, '127.0.0.1')
    const open = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (open) return
  }
  throw new Error(`radosgw did not listen after ${START_MS} ms.`)
}

/** The bundle of the server, which operators run, contains every adapter with the packages that it loads on its first use. */
import t from 'tap'
import { databaseSettings } from '../servers/postgres.ts'
import { startSshd } from '../servers/sshd.ts'
import { client } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { freePort } from '../support/free-port.ts'
import { startProgram, temporaryFolder } from '../support/program.ts'

const sshd = await startSshd(t)
const { url } = await startProgram(t, {
  environment: { PORT: '0', STOWAGE_DATA: await temporaryFolder(t), ...(await databaseSettings(t)) },
})
const api = client(url)
const { token } = await api.register('owner@example.org')
const closed = await freePort()
const nobody = `http://127.0.0.1:${closed}`

t.test('SFTP stores a file on a real server', async t => {
  const { host, port, user, privateKey, passphrase, hostKey, root } = sshd
  const config = { host, port, user, privateKey, passphrase, hostKey, folder: root }
  const providerId = await api.connectProvider(token, 'sftp', config)
  const { key } = await api.createKey(token, { name: 'script', scopes: ['write'] })
  await api.upload(key, providerId, '/stored.txt', 'stored')
  t.equal(await (await api.download(key, providerId, '/stored.txt')).text(), 'stored')
})

atNight(t, 'the other adapters that need a server say that nobody responds', async t => {
  const keys = { accessKeyId: 'a', secretAccessKey: 'b' }
  const unreachable = {
    s3: { bucket: 'bucket', endpoint: nobody, region: 'us-east-1', forcePathStyle: true, ...keys },
    webdav: { url: nobody },
    ftp: { host: '127.0.0.1', port: closed, user: 'a', password: 'b' },
    'azure-blob': { account: 'account', container: 'container', endpoint: nobody, accountKey: 'YWFhYQ==' },
  }
  const connect = ([type, config]: [string, object]) =>
    t.rejects(api.connectProvider(token, type, config), { message: /"reason":"UNAVAILABLE"/ }, type)
  await Promise.all(Object.entries(unreachable).map(connect))
})

t.test('the adapters of clouds begin the sign-in', async t => {
  const begin = 'mutation ($input: ConnectProviderInput!) { connectProvider(input: $input) { authorizationUrl } }'
  for (const type of ['google-drive', 'dropbox', 'onedrive']) {
    const input = { type, name: type, config: { clientId: 'id', clientSecret: 'secret' } }
    const { connectProvider } = await api.ask(begin, { input }, token)
    const page = await fetch(connectProvider.authorizationUrl)
    t.match(await page.text(), /<a href="https:[^"]*client_id=id/, type)
  }
})

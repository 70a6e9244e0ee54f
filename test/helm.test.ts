/** The Helm chart, rendered without Helm: Debian and npm have no package of it. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { definitions } from '../src/settings/definitions.ts'
import { all, environmentOf, parseDockerfile, type Stage } from './support/dockerfile.ts'
import { renderTemplates } from './support/go-template.ts'

const root = new URL('..', import.meta.url).pathname
const chartFolder = join(root, 'deploy/helm/stowage')
const read = (name: string) => readFile(join(chartFolder, name), 'utf8')
const chart = parse(await read('Chart.yaml'))
const values = parse(await read('values.yaml'))
const image: Stage = parseDockerfile(await readFile(join(root, 'Dockerfile'), 'utf8')).at(-1) ?? {
  name: '',
  instructions: [],
}
const names = await readdir(join(chartFolder, 'templates'))
const sources = Object.fromEntries(
  await Promise.all(names.map(async name => [name, await read(join('templates', name))] as const)),
)

/** Renders the chart with values over its own, as `helm template stowage` does. */
function render(given: Record<string, object | number> = {}) {
  const merged = Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const changed = given[name]
      const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
      return [name, changed === undefined ? value : isMap ? { ...value, ...(changed as object) } : changed]
    }),
  )
  const context = {
    Values: merged,
    Chart: { Name: chart.name, Version: chart.version, AppVersion: chart.appVersion },
    Release: { Name: 'files', Namespace: 'default', Service: 'Helm' },
  }
  const { 'NOTES.txt': notes = '', '_helpers.tpl': _, ...files } = renderTemplates(sources, context)
  const objects = Object.values(files)
    .flatMap(text => parseAllDocuments(text))
    .flatMap(document => {
      if (document.errors.length > 0) throw document.errors[0]
      return document.toJS() ?? []
    })
  const find = (kind: string, name = 'files-stowage') =>
    objects.find(object => object.kind === kind && object.metadata.name === name)
  return { notes, objects, find, pod: find('Deployment').spec.template.spec }
}

t.test('the default values run the image as it is built', async t => {
  const { objects, find, pod } = render()
  t.same(objects.map(({ kind }) => kind).sort(), ['Deployment', 'PersistentVolumeClaim', 'Service'])
  const [container] = pod.containers
  t.equal(container.image, `stowage:${JSON.parse(await readFile(join(root, 'package.json'), 'utf8')).version}`)
  const ports = [{ name: 'http', containerPort: Number(all(image, 'EXPOSE').join()) }]
  t.same(container.ports, ports)
  t.equal(find('Service').spec.ports[0].targetPort, 'http')
  const { labels } = find('Deployment').spec.template.metadata
  for (const selector of [find('Service').spec.selector, find('Deployment').spec.selector.matchLabels])
    t.match(labels, selector)
  const folders = new Map(
    container.volumeMounts.map((mount: { name: string; mountPath: string }) => [mount.mountPath, mount.name]),
  )
  t.equal(folders.get(String(environmentOf(image).STOWAGE_DATA)), 'data')
  t.same([...folders.values()].sort(), pod.volumes.map(({ name }: { name: string }) => name).sort())
  t.equal(pod.volumes[0].persistentVolumeClaim.claimName, find('PersistentVolumeClaim').metadata.name)
  t.match(pod.securityContext, { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } })
  t.match(container.securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true })
})

t.test('the container gets settings of the server, and secrets as files', async t => {
  const { pod } = render({
    secret: { settings: ['DATABASE_URL', 'STOWAGE_SECRET', 'STOWAGE_SETUP_CODE'] },
    settings: { STOWAGE_PUBLIC_URL: 'https://files.example.org', STOWAGE_TRUST_PROXY: '10.0.0.0/8', LOG_LEVEL: '' },
    metrics: { enabled: true },
  })
  const [{ env, ports, volumeMounts }] = pod.containers
  const environment = new Map<string, string>(
    env.map(({ name, value }: { name: string; value: string }) => [name, value]),
  )
  for (const name of environment.keys()) t.ok(name.replace(/_FILE$/, '') in definitions, `${name} is a setting`)
  for (const name of Object.keys(values.settings)) t.ok(name in definitions, `${name} is a setting`)
  t.notOk(environment.has('LOG_LEVEL'), 'an empty value is not set')
  const { secret } = pod.volumes.find(({ name }: { name: string }) => name === 'secrets')
  const { mountPath } = volumeMounts.find(({ name }: { name: string }) => name === 'secrets')
  t.same(
    secret.items.map(({ path }: { path: string }) => `${mountPath}/${path}`),
    [...environment].flatMap(([name, value]) => (name.endsWith('_FILE') ? [value] : [])),
  )
  t.equal(secret.items.length, 3)
  t.equal(environment.get('STOWAGE_METRICS_ADDRESS'), '0.0.0.0:9464')
  t.match(ports[1], { name: 'metrics', containerPort: 9464 })
})

t.test('the metrics and the Ingress are optional', async t => {
  const { find, notes } = render({
    metrics: { enabled: true, port: 9999 },
    ingress: { enabled: true, className: 'nginx', path: '/stowage', tlsSecret: 'certificate', annotations: { a: 'b' } },
    persistence: { enabled: false },
  })
  t.match(find('Service', 'files-stowage-metrics').spec, { clusterIP: 'None', ports: [{ port: 9999 }] })
  t.equal(find('Service').spec.ports.length, 1, 'the metrics are not on the public service')
  t.same(find('Ingress').spec, {
    ingressClassName: 'nginx',
    tls: [{ secretName: 'certificate', hosts: ['files.example.org'] }],
    rules: [
      {
        host: 'files.example.org',
        http: {
          paths: [
            {
              path: '/stowage',
              pathType: 'Prefix',
              backend: { service: { name: 'files-stowage', port: { name: 'http' } } },
            },
          ],
        },
      },
    ],
  })
  t.same(find('Ingress').metadata.annotations, { a: 'b' })
  t.notOk(find('PersistentVolumeClaim'))
  t.match(notes, 'Stowage serves https://files.example.org/stowage through the Ingress.')
})

t.test('SFTP has a service of its own', async t => {
  const { find, pod } = render({ sftp: { enabled: true, annotations: { a: 'b' } } })
  const service = find('Service', 'files-stowage-sftp')
  t.match(service.spec, {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    ports: [{ port: 22, targetPort: 'sftp' }],
  })
  t.same(service.metadata.annotations, { a: 'b' })
  const [{ env, ports }] = pod.containers
  const { value } = env.find(({ name }: { name: string }) => name === 'STOWAGE_SFTP_ADDRESS')
  t.match(ports, [{ name: 'http' }, { name: 'sftp', containerPort: Number(value.split(':')[1]) }])
  const inside = render({ sftp: { enabled: true, type: 'ClusterIP', externalTrafficPolicy: '' } }).find(
    'Service',
    'files-stowage-sftp',
  )
  t.notOk(inside.spec.externalTrafficPolicy)
})

t.test('several replicas need a volume that they can share', async t => {
  t.equal(render().find('Deployment').spec.strategy.type, 'Recreate')
  const shared = { existingClaim: 'nfs', accessModes: ['ReadWriteMany'] }
  const { find, pod } = render({ replicas: 3, persistence: shared })
  t.match(find('Deployment').spec, { replicas: 3, strategy: { type: 'RollingUpdate' } })
  t.equal(pod.volumes[0].persistentVolumeClaim.claimName, 'nfs')
  t.notOk(find('PersistentVolumeClaim'))
  t.throws(() => render({ replicas: 3 }), /more than one needs persistence.accessModes with ReadWriteMany/)
})

t.test('the values of the README exist', async t => {
  const [, example = ''] = /```yaml\n(.*?)```/s.exec(await read('README.md')) ?? []
  const given = parse(example.replaceAll(/^ {3}/gm, ''))
  for (const [name, value] of Object.entries<object>(given)) {
    for (const key of Object.keys(value)) t.ok(key in values[name], `${name}.${key}`)
  }
  t.match(render(given).pod.containers[0].image, /^registry\.example\.org\/stowage:/)
})

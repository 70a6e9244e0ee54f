import { useMutation } from '@tanstack/react-query'
import { ask } from '../api/client.ts'
import { texts as startTexts } from '../texts/start.ts'
import { texts } from '../texts/storages.tsx'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { StorageLogo } from '../ui/storage-logo.tsx'
import { readSchema } from './config-schema.ts'
import { type ConnectedProvider, ConnectMutation, type ProviderType } from './operations.ts'

/** Connects the folder that the server offers by default, which needs no settings. Without such a folder, it shows nothing. */
export function ServerDisk({
  types,
  onConnected,
}: {
  types: readonly ProviderType[]
  onConnected: (provider: ConnectedProvider, type: ProviderType) => Promise<void>
}) {
  const disk = types.find(({ type }) => type === 'local')
  const root = disk && readSchema(disk.configSchema).find(({ name }) => name === 'root')?.defaultValue
  const connect = useMutation({
    mutationFn: async (type: ProviderType) => {
      const input = { type: type.type, name: type.title, config: { root } }
      const { provider } = (await ask(ConnectMutation, { input })).connectProvider
      await onConnected({ ...provider, authorizationUrl: null }, type)
    },
  })
  if (!disk || typeof root !== 'string') return null
  return (
    <section className="server-disk" aria-label={disk.title}>
      <span className="logo-plate">
        <StorageLogo type={disk.type} />
      </span>
      <div>
        <p>{texts.typeHelp[disk.type]}</p>
        <code dir="ltr">{root}</code>
      </div>
      <Button variant="primary" onPress={() => connect.mutate(disk)} isPending={connect.isPending}>
        {connect.isPending ? texts.testing : startTexts.useServerDisk}
      </Button>
      {connect.error && <ErrorBox error={connect.error} />}
    </section>
  )
}

import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api/request.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { scopeChoices } from '../access/draft.ts'
import { type Member, type MemberView, StorageNamesQuery, ViewMemberMutation } from './operations.ts'

/** Shows what a member can access and do. Nobody acts as the member, and the audit log records the look. */
export function ViewDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['member-view', member.id],
    queryFn: async ({ signal }) => {
      const { viewMember } = await ask(ViewMemberMutation, { userId: member.id }, { signal })
      const { providers } = await ask(StorageNamesQuery, {}, { signal })
      return { view: viewMember, providers }
    },
    retry: false,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  return (
    <Dialog title={texts.viewTitle(member.name ?? member.email)} onClose={onClose}>
      {error && !data && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label={texts.loadingStorages} />}
      {data && <View {...data} />}
      <p className="help">{texts.viewHelp}</p>
      <div className="dialog-actions">
        <Button variant="primary" onPress={onClose}>
          {common.done}
        </Button>
      </div>
    </Dialog>
  )
}

function View({
  view: { scopes, providerAccess },
  providers,
}: {
  view: MemberView
  providers: readonly { id: string; name: string }[]
}) {
  const scope = scopeChoices.findLast(({ value }) => scopes.includes(value))
  const folders = providerAccess.all
    ? providers.map(provider => ({ provider, basePath: '/' }))
    : providerAccess.restrictions
  if (!scope || folders.length === 0) return <p>{texts.viewNothing}</p>
  return (
    <ul>
      {folders.map(({ provider, basePath }) => (
        <li key={`${provider.id}${basePath}`}>
          <strong>
            {provider.name} {basePath !== '/' && <span className="mono">{basePath}</span>}
          </strong>
          <div className="help">
            {scope.title}: {scope.help}
          </div>
        </li>
      ))}
    </ul>
  )
}

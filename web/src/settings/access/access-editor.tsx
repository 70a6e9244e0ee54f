import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Checkbox } from '../../ui/checkbox.tsx'
import { Choices } from '../../ui/choices.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { TextField } from '../../ui/field.tsx'
import type { PickableProvider } from '../../ui/folder-picker.tsx'
import { Loading } from '../../ui/loading.tsx'
import type { AccessDraft } from './draft.ts'
import { FolderDialog } from './folder-dialog.tsx'

const AccessibleProvidersQuery = graphql(`
  query AccessibleProviders {
    providers { id name root { path } }
    viewer { providerAccess { all restrictions { basePath provider { id } } } }
  }
`)

/** Chooses all providers, or some of them with a folder in each. */
export function AccessEditor({
  access,
  onChange,
  allHelp,
}: {
  access: AccessDraft
  onChange: (access: AccessDraft) => void
  allHelp: string
}) {
  return (
    <>
      <Choices
        label={texts.storages}
        value={access.all ? 'all' : 'chosen'}
        onChange={picked => onChange({ ...access, all: picked === 'all' })}
        choices={[
          { value: 'all', title: texts.allStorages, help: allHelp },
          {
            value: 'chosen',
            title: texts.selectedStorages,
            help: texts.selectedStoragesHelp,
          },
        ]}
      />
      {!access.all && <ProviderList access={access} onChange={onChange} />}
    </>
  )
}

function ProviderList({ access, onChange }: { access: AccessDraft; onChange: (access: AccessDraft) => void }) {
  const { data, error, refetch } = useQuery({
    queryKey: [...queryKeys.providers, 'accessible'],
    queryFn: ({ signal }) => ask(AccessibleProvidersQuery, {}, { signal }),
  })
  const [browsing, setBrowsing] = useState<PickableProvider | null>(null)
  if (error && !data) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label={texts.loadingStorages} />
  if (data.providers.length === 0) return <p className="notice">{texts.noStorage}</p>

  const ownBasePaths = new Map(
    data.viewer.providerAccess.restrictions.map(({ provider, basePath }) => [provider.id, basePath]),
  )
  const set = (id: string, basePath: string | null) => {
    const { [id]: _, ...others } = access.chosen
    onChange({ ...access, chosen: basePath === null ? others : { ...others, [id]: basePath } })
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
    <div role="group" aria-label={texts.selected} className="access-list">
      {data.providers.map(provider => {
        const { id, name } = provider
        const basePath = access.chosen[id]
        return (
          <div key={id} className="access-item">
            <Checkbox
              isSelected={basePath !== undefined}
              onChange={isChosen => set(id, isChosen ? (ownBasePaths.get(id) ?? '/') : null)}
            >
              {name}
            </Checkbox>
            {basePath !== undefined && (
              <div className="access-path">
                <TextField label={texts.folderIn(name)} value={basePath} onChange={path => set(id, path)} isRequired />
                <Button onPress={() => setBrowsing(provider)} aria-label={texts.browseStorage(name)}>
                  {texts.browse}
                </Button>
              </div>
            )}
          </div>
        )
      })}
      {browsing && (
        <FolderDialog provider={browsing} onPick={path => set(browsing.id, path)} onClose={() => setBrowsing(null)} />
      )}
    </div>
  )
}

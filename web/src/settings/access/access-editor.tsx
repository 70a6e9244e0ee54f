import { useQuery } from '@tanstack/react-query'
import { graphql } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { texts } from '../../texts/settings.tsx'
import { Checkbox } from '../../ui/checkbox.tsx'
import { Choices } from '../../ui/choices.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import type { AccessDraft } from './draft.ts'
import { FolderList } from './folder-list.tsx'

const AccessibleProvidersQuery = graphql(`
  query AccessibleProviders {
    providers { id name basePaths }
  }
`)

interface EditorProps {
  access: AccessDraft
  onChange: (access: AccessDraft) => void
  /** Whether a storage can have several folders. */
  hasSeveral?: boolean
}

/** Chooses all providers, or some of them with folders in each. */
export function AccessEditor({ allHelp, ...props }: EditorProps & { allHelp: string }) {
  const { access, onChange, hasSeveral } = props
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
            help: hasSeveral ? texts.selectedFoldersHelp : texts.selectedStoragesHelp,
          },
        ]}
      />
      {!access.all && <ProviderList {...props} />}
    </>
  )
}

function ProviderList({ access, onChange, hasSeveral = false }: EditorProps) {
  const { data, error, refetch } = useQuery({
    queryKey: [...queryKeys.providers, 'accessible'],
    queryFn: ({ signal }) => ask(AccessibleProvidersQuery, {}, { signal }),
  })
  if (error && !data) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label={texts.loadingStorages} />
  if (data.providers.length === 0) return <p className="notice">{texts.noStorage}</p>

  const set = (id: string, paths: readonly string[]) => {
    const { [id]: _, ...others } = access.chosen
    onChange({ ...access, chosen: paths.length === 0 ? others : { ...others, [id]: paths } })
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
    <div role="group" aria-label={texts.selected} className="access-list">
      {data.providers.map(provider => {
        const { id, name, basePaths } = provider
        const paths = access.chosen[id] ?? []
        const own = hasSeveral ? basePaths : basePaths.slice(0, 1)
        return (
          <div key={id} className="access-item">
            <Checkbox isSelected={paths.length > 0} onChange={isChosen => set(id, isChosen ? own : [])}>
              {name}
            </Checkbox>
            {paths.length > 0 && (
              <FolderList
                provider={provider}
                paths={paths}
                onChange={changed => set(id, changed)}
                hasSeveral={hasSeveral}
              />
            )}
          </div>
        )
      })}
    </div>
  )
}

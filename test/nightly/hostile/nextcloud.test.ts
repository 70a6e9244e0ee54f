import t from 'tap'
import { attackBackEnd } from '../../hostile/attack-back-end.ts'
import { nextcloud } from '../../hostile/cloud-back-ends.ts'
import { namesOthersGive } from '../../hostile/corpus.ts'
import { isForbidden } from '../../servers/nextcloud/names.ts'

const isStorable = (name: string) => !isForbidden(name) && name === name.normalize('NFC')
attackBackEnd(t, 'Nextcloud', nextcloud, { every: 4, names: namesOthersGive.filter(isStorable) })

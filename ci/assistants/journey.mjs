// What the programs in JavaScript share: the address and the keys of the demo, and an assistant at work.
import { check, equal } from './helpers.mjs'

const demo = JSON.parse(process.env.KARTEI_DEMO)

export const address = new URL(demo.mcpUrl)
export const keys = demo.keys

// request is what a transport sends beside the message.
export const request = (key) => ({ requestInit: { headers: { Authorization: `Bearer ${key}`, 'Accept-Language': 'en' } } })

// failed expects the error of a tool: a sentence that begins with the code, and the problem.
export function failed(result, code) {
  check(`an error, got ${JSON.stringify(result.structuredContent)}`, result.isError)
  check(`${code}, got ${result.content[0].text}`, result.content[0].text.startsWith(`${code}: `))
  const problem = JSON.parse(result.content[1].text)
  equal('the code of the problem', problem.code, code)
  return problem
}

// done expects the result of a tool, whose text says the same as its structure.
export function done(result) {
  check(`a result, got ${result.content[0]?.text}`, !result.isError)
  equal('the text', JSON.stringify(JSON.parse(result.content[0].text)), JSON.stringify(result.structuredContent))
  return result.structuredContent
}

// journey is an assistant at work, which has nothing but the address and a key: it finds a contact by a
// half-remembered name, makes a task with a date for it, meets a change of somebody else, and is
// refused a deletion that its key does not allow.
export async function journey(call, read) {
  const found = done(await call('contacts_list', { q: 'müll', limit: 5 })).data
  check('contacts with that name', found.length > 0 && found.length <= 5)
  const contact = done(await call('contacts_get', { id: found[0].id }))
  const due = '2027-03-01T09:00:00Z'
  const task = done(await call('tasks_create', { title: 'Call back', dueAt: due, contactId: contact.id }))
  equal('the contact of the task', task.contactId, contact.id)
  const changed = done(await call('contacts_update', { id: contact.id, revision: contact.revision, jobTitle: `Judge ${Date.now()}` }))
  const problem = failed(await call('contacts_update', { id: contact.id, revision: contact.revision, note: 'Late' }), 'PRECONDITION_FAILED')
  equal('currentRevision', problem.currentRevision, changed.revision)
  equal('the note', done(await call('contacts_update', { id: contact.id, revision: problem.currentRevision, note: 'Late' })).note, 'Late')
  failed(await read('tasks_delete', { id: task.id, revision: task.revision }), 'FORBIDDEN')
  equal('deleted', done(await call('tasks_delete', { id: task.id, revision: task.revision })).deleted, true)
}

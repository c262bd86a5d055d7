#include "mcp/base/open_requests.h"

#include "sandbox/base/list.h"

void open_requests_add(struct open_requests *requests, struct open_request *request)
{
    LIST_PREPEND(requests->first, request);
}

void open_requests_remove(struct open_requests *requests, struct open_request *request)
{
    LIST_REMOVE(requests->first, request);
}

bool open_requests_have(const struct open_requests *requests, const struct rpc_answer *answer)
{
    const struct open_request *request = requests->first;
    while (request != NULL && !rpc_answer_same_id(request->answer, answer))
        request = request->next;
    return request != NULL;
}

void open_requests_cancel(struct open_requests *requests, uint64_t peer,
                          const struct json_value *id)
{
    struct open_request *request = requests->first;
    while (request != NULL && !rpc_answer_is_for(request->answer, peer, id))
        request = request->next;
    if (request != NULL)
        request->cancel(request);
}

void open_requests_cancel_all(struct open_requests *requests, const struct rpc *rpc)
{
    /* From the start each time: what is told of the end of one may end others. */
    for (struct open_request *request = requests->first; request != NULL;) {
        bool is_meant = rpc == NULL || rpc_answer_rpc(request->answer) == rpc;
        if (is_meant)
            request->cancel(request);
        request = is_meant ? requests->first : request->next;
    }
}

void open_requests_conclude(struct open_requests *requests)
{
    for (struct open_request *request = requests->first; request != NULL;) {
        bool is_meant = request->conclude != NULL;
        if (is_meant)
            request->conclude(request);
        request = is_meant ? requests->first : request->next;
    }
}
